// Conversations in the browser's database. Where there is none, they last until the page is closed.

const [database, table] = ['quern', 'conversations'];

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** A change holds only when its transaction has ended: a full disk is reported there. */
const committed = (transaction) =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });

async function open() {
  const request = indexedDB.open(database, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath: 'id' });
  return done(request);
}

let opened;

async function access(mode, act) {
  opened ??= open();
  const transaction = (await opened).transaction(table, mode);
  const end = committed(transaction);
  end.catch(() => {}); // an error of `act` comes first
  const result = await act(transaction.objectStore(table));
  await end;
  return result;
}

/** Everything that is stored, whatever it is. */
export const readAll = () => access('readonly', (store) => done(store.getAll()));

export const readOne = (id) => access('readonly', (store) => done(store.get(id)));

export const write = (conversation) => access('readwrite', (store) => done(store.put(conversation)));

export const erase = (id) => access('readwrite', (store) => done(store.delete(id)));
