// The list of conversations, and their keeping.
import { isConversation, titleOf } from './conversation.js';
import { button, element } from './elements.js';
import { tell } from './notice.js';
import { erase, readAll, readOne, write } from './store.js';

const list = document.getElementById('conversations');
const others = new BroadcastChannel('quern'); // other tabs with this page

/** By their ids. */
const all = new Map();

/** What the chat does: `open(conversation)`, `isOpen(id)`, `isRunning(id)`, `closed()`. */
let chat;

const sentence = (error) =>
  error.name === 'QuotaExceededError'
    ? 'The browser has no room for more conversations: delete some, or export them. This one lasts until the page is closed.'
    : `The browser does not keep conversations here (${error.message}): they last until the page is closed.`;

let isToldOf;

/** The same failure is told once. */
function fail(error) {
  if (isToldOf !== error.name) tell(sentence(error));
  isToldOf = error.name;
}

async function changed(act, id) {
  try {
    await act;
    isToldOf = undefined;
    others.postMessage(id);
  } catch (error) {
    fail(error);
  }
}

/** Keeps a conversation as it is now. */
export async function save(conversation) {
  all.set(conversation.id, conversation);
  draw();
  await changed(write(conversation), conversation.id);
}

function remove(conversation) {
  chat.stop(conversation.id);
  all.delete(conversation.id);
  void changed(erase(conversation.id), conversation.id);
  if (chat.isOpen(conversation.id)) chat.closed();
  draw();
  tell(`“${titleOf(conversation)}” is deleted.`, () => {
    void save(conversation);
    chat.open(conversation);
  });
}

function rename(conversation, item) {
  const field = element('input', { value: titleOf(conversation), ariaLabel: 'Name of the conversation' });
  const end = (isKept) => {
    field.onblur = null;
    field.remove();
    drawn = undefined;
    if (isKept && field.value.trim()) conversation.title = field.value.trim();
    if (isKept) void save(conversation);
    else draw();
    list.querySelector('[aria-current] .rename')?.focus();
  };
  field.onkeydown = (event) => {
    if (event.isComposing || !['Enter', 'Escape'].includes(event.key)) return;
    event.preventDefault(); // it would press the button that gets the focus
    event.stopPropagation();
    end(event.key === 'Enter');
  };
  field.onblur = () => end(true);
  item.replaceChildren(field);
  field.select();
}

function itemOf(conversation) {
  const title = titleOf(conversation);
  const item = element(
    'li',
    {},
    button(title, () => chat.open(conversation), { className: 'open', title }),
    button('✎', () => rename(conversation, item), {
      className: 'rename',
      title: 'Rename',
      ariaLabel: `Rename: ${title}`,
    }),
    button('✕', () => remove(conversation), {
      className: 'delete',
      title: 'Delete',
      ariaLabel: `Delete: ${title}`,
    }),
  );
  item.dataset.id = conversation.id;
  if (chat.isOpen(conversation.id)) item.setAttribute('aria-current', 'true');
  item.classList.toggle('running', chat.isRunning(conversation.id));
  return item;
}

let drawn;

/** Shows the list, the latest first. A button of it that has the focus keeps it. */
export function draw() {
  if (list.querySelector('input')) return; // a name is being written
  const latest = [...all.values()].sort((a, b) => b.updated - a.updated);
  const shape = latest.map((each) => [each.id, titleOf(each), chat.isOpen(each.id), chat.isRunning(each.id)]);
  if (JSON.stringify(shape) === drawn) return;
  drawn = JSON.stringify(shape);
  const { className, parentElement } = document.activeElement;
  const focused = list.contains(parentElement) ? parentElement.dataset.id : undefined;
  list.replaceChildren(...latest.map(itemOf));
  const item = [...list.children].find(({ dataset }) => dataset.id === focused);
  item?.querySelector(`.${className}`)?.focus();
}

/** Takes values that are conversations; the number of the others. */
function take(values) {
  const good = values.filter(isConversation);
  for (const each of good) all.set(each.id, each);
  return values.length - good.length;
}

/** Reads what was kept. @param acts see `chat` */
export async function load(acts) {
  chat = acts;
  try {
    const damaged = take(await readAll());
    if (damaged > 0)
      tell(`${damaged} stored conversation${damaged > 1 ? 's are' : ' is'} damaged and not shown.`);
  } catch (error) {
    fail(error);
  }
  draw();
}

export const find = (id) => all.get(id);

/** Another tab has changed a conversation. */
others.onmessage = async ({ data: id }) => {
  if (chat.isRunning(id)) return;
  const value = await readOne(id).catch(() => undefined);
  if (isConversation(value)) all.set(id, value);
  else all.delete(id);
  if (chat.isOpen(id)) {
    if (all.has(id)) chat.open(value);
    else chat.closed();
  }
  draw();
};

document.getElementById('export').addEventListener('click', () => {
  const text = JSON.stringify({ conversations: [...all.values()] }, null, 2);
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  element('a', { href, download: 'quern-conversations.json' }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
});

document.getElementById('import').addEventListener('change', async ({ target }) => {
  const values = await target.files[0]
    ?.text()
    .then((text) => JSON.parse(text).conversations)
    .catch(() => undefined);
  target.value = '';
  if (!Array.isArray(values)) return tell('This file has no conversations: choose one that “Export” wrote.');
  const absent = values.filter((each) => !all.has(each?.id));
  const damaged = take(absent);
  draw();
  const known = values.length - absent.length;
  const others = `${known > 0 ? `, ${known} already here` : ''}${damaged > 0 ? `, ${damaged} damaged` : ''}`;
  tell(`${absent.length - damaged} imported${others}.`);
  for (const each of absent.filter(isConversation)) await changed(write(each), each.id);
});
