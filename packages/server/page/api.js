// Requests to the server that this page comes from.

const keyInput = document.getElementById('key');
keyInput.value = sessionStorage.getItem('key') ?? '';
keyInput.addEventListener('change', () => {
  sessionStorage.setItem('key', keyInput.value);
  keyInput.dispatchEvent(new Event('quern-key', { bubbles: true }));
});

const headers = () => (keyInput.value ? { authorization: `Bearer ${keyInput.value}` } : {});

/** The message of an error of the API. */
async function problemOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}

async function send(path, init) {
  const response = await fetch(path, { ...init, headers: { ...headers(), ...init?.headers } });
  if (!response.ok) throw new Error(await problemOf(response));
  return response;
}

export const get = (path) => send(path);

export const postForm = (path, form) => send(path, { method: 'POST', body: form });

export const postJson = (path, body, signal) =>
  send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });

/** The events of a stream, as objects. */
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split('\n\n');
    text = parts.pop();
    for (const part of parts) {
      const data = part
        .split('\n')
        .find((line) => line.startsWith('data: '))
        ?.slice(6);
      if (data && data !== '[DONE]') yield JSON.parse(data);
    }
  }
}

const problem = document.getElementById('problem');

/** Runs an act; its error is shown above the page. */
export async function showingProblems(act) {
  problem.hidden = true;
  try {
    return await act();
  } catch (error) {
    if (error.name === 'AbortError') return undefined;
    problem.textContent = error.message;
    problem.hidden = false;
    return undefined;
  }
}
