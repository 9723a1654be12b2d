// Conversations as the browser keeps them: messages in the API's form, with what became of an answer beside it.
//
// An answer's `end`: 'stop' or 'tool_calls' (whole), 'length' (cut), or of this page: 'stopped', 'lost', 'error' (with `problem`).

const isText = (value) => typeof value === 'string';
const isTextOrAbsent = (value) => value === undefined || isText(value);
const isObject = (value) => typeof value === 'object' && value !== null;

const isCall = (call) =>
  isObject(call) &&
  isText(call.id) &&
  isObject(call.function) &&
  isText(call.function.name) &&
  isText(call.function.arguments);

const optional = ['model', 'thinking', 'end', 'problem', 'format', 'tool_call_id', 'name'];

const isMessage = (message) =>
  isObject(message) &&
  ['user', 'assistant', 'tool'].includes(message.role) &&
  isText(message.content) &&
  optional.every((name) => isTextOrAbsent(message[name])) &&
  (message.role !== 'tool' || isText(message.tool_call_id)) &&
  (message.tool_calls === undefined ||
    (Array.isArray(message.tool_calls) && message.tool_calls.every(isCall)));

/** Whether a stored or imported value is a conversation: anything may stand there. */
export const isConversation = (value) =>
  isObject(value) &&
  isText(value.id) &&
  value.id !== '' &&
  isText(value.title) &&
  Number.isFinite(value.updated) &&
  (value.settings === undefined || isObject(value.settings)) &&
  Array.isArray(value.messages) &&
  value.messages.every(isMessage);

/** `crypto.randomUUID` is absent from pages of plain http. */
const newId = () =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join('-');

export const newConversation = () => ({ id: newId(), title: '', updated: Date.now(), messages: [] });

const longestTitle = 60;

/** The name in the list; the first question, unless the user gave one. */
export function titleOf({ title, messages }) {
  const first =
    title ||
    messages
      .find(({ role }) => role === 'user')
      ?.content.trim()
      .replace(/\s+/g, ' ');
  if (!first) return 'New chat';
  return first.length > longestTitle && !title ? `${first.slice(0, longestTitle)}…` : first;
}

function isJson(text) {
  try {
    return text === '' || isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** The messages as the API takes them. Calls that were cut are left out. */
export const apiMessages = (messages) =>
  messages.map(({ role, content, tool_calls: calls, tool_call_id: id }) => {
    if (role !== 'assistant') return { role, content, ...(role === 'tool' && { tool_call_id: id }) };
    const whole = calls?.filter((call) => isJson(call.function.arguments)) ?? [];
    return { role, content, ...(whole.length > 0 && { tool_calls: whole }) };
  });

/** The calls of the last answer, where they wait for results. */
export function openCalls(messages) {
  const last = messages.at(-1);
  return last?.role === 'assistant' && last.end === 'tool_calls' ? (last.tool_calls ?? []) : [];
}

/** Whether the server can write the rest of an answer: it continues plain text. */
export const canContinue = (message) =>
  cutOf(message) !== undefined &&
  message.content.trim() !== '' &&
  !message.tool_calls &&
  message.format !== 'json';

/** Why an answer is not whole, in words; undefined: it is. */
export function cutOf({ role, end, problem }) {
  if (role !== 'assistant') return undefined;
  const words = {
    length: 'Cut off: the answer reached “Max tokens”, or the model’s context is full.',
    stopped: 'Stopped: you ended this answer.',
    lost: 'Incomplete: the connection broke, or the page was closed, before the answer ended.',
    error: `Error: ${problem}`,
  };
  return Object.hasOwn(words, end ?? '') ? words[end] : undefined;
}
