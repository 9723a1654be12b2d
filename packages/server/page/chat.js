import { BrokenError, eventsOf, postJson, showProblem } from './api.js';
import { apiMessages, newConversation, openCalls, titleOf } from './conversation.js';
import { draw, find, load, save } from './conversations.js';
import { keep, kept } from './kept.js';
import { MessageView, sends } from './message.js';
import { tell } from './notice.js';
import { requestFields, restore, settings, systemMessages } from './settings.js';

const list = document.getElementById('messages');
const form = document.getElementById('ask');
const prompt = document.getElementById('prompt');
const [send, stopButton, clear, speed, title] = ['send', 'stop', 'clear', 'speed', 'title'].map((id) =>
  document.getElementById(id),
);

list.tabIndex = 0; // scrolled by keys

/** The conversation that is shown, and its messages on the page. */
let current = newConversation();
let views = [];

/** The answers under way, `{ abort, message }`, by the ids of their conversations. */
const running = new Map();

const isRunning = (id) => running.has(id);
const stop = (id) => running.get(id)?.abort.abort();

/** Adds what an event says to an answer. */
function add(message, { delta, finish_reason: reason }) {
  message.content += delta.content ?? '';
  if (delta.reasoning_content) message.thinking = (message.thinking ?? '') + delta.reasoning_content;
  for (const {
    index,
    id,
    function: { name, arguments: text = '' },
  } of delta.tool_calls ?? []) {
    message.tool_calls ??= [];
    message.tool_calls[index] ??= { id, type: 'function', function: { name, arguments: '' } };
    message.tool_calls[index].function.arguments += text;
  }
  if (reason) message.end = reason;
}

const stored = 2000; // ms between savings of an answer that comes

/** Reads an answer into the message. Throws where it does not come whole. */
async function read(conversation, message, fields, signal) {
  const begin = performance.now();
  const { messages } = conversation;
  const body = {
    ...fields,
    messages: [
      ...systemMessages(),
      ...apiMessages(fields.continue_final_message ? messages : messages.slice(0, -1)),
    ],
    stream: true,
    stream_options: { include_usage: true },
  };
  const response = await postJson('v1/chat/completions', body, signal);
  const notice = response.headers.get('x-quern-notice');
  if (notice) tell(notice);
  let saved = begin;
  let isEnded = false;
  for await (const { choices, usage } of eventsOf(response)) {
    if (choices[0]) add(message, choices[0]);
    isEnded ||= Boolean(choices[0]?.finish_reason);
    if (usage && conversation === current) tellSpeed(usage, performance.now() - begin);
    viewOf(message)?.update();
    if (performance.now() - saved < stored) continue;
    saved = performance.now();
    void saveKnown(conversation);
  }
  if (!isEnded) throw new BrokenError();
}

/** A conversation may have been deleted meanwhile. */
const saveKnown = async (conversation) => {
  if (find(conversation.id) === conversation) await save(conversation);
};

const viewOf = (message) => views.find((view) => view.message === message);

/** How an answer has ended that is not whole. */
function broken(message, error) {
  if (error.name === 'AbortError') message.end = 'stopped';
  else if (error instanceof BrokenError) message.end = 'lost';
  else Object.assign(message, { end: 'error', problem: error.message });
}

const newAnswer = ({ model, response_format: format, tools }) => ({
  role: 'assistant',
  content: '',
  model,
  ...(format && !tools && { format: 'json' }),
});

/**
 * Answers a conversation, or continues its last answer. Calls of tools in the answer wait for their results, or for another
 * message instead.
 */
async function answer(conversation, fields, message = newAnswer(fields)) {
  message.end = 'lost'; // until it has ended
  if (conversation.messages.at(-1) !== message) conversation.messages.push(message);
  conversation.settings = settings();
  conversation.updated = Date.now();
  const abort = new AbortController();
  const work = { abort, message };
  running.set(conversation.id, work);
  if (viewOf(message)) viewOf(message).begin();
  else append(message);
  speed.textContent = '';
  showState();
  void save(conversation);
  await read(conversation, message, fields, abort.signal).catch((error) => broken(message, error));
  if (running.get(conversation.id) === work) running.delete(conversation.id);
  viewOf(message)?.end();
  showState();
  await saveKnown(conversation);
  if (conversation === current) afterAnswer();
}

const isTouched = matchMedia('(pointer: coarse)');

function afterAnswer() {
  const focused = document.activeElement;
  const isFree = [document.body, stopButton, send].includes(focused) && !isTouched.matches; // no keyboard over the answer
  const field = askResults();
  if (isFree || focused === prompt) (field ?? prompt).focus({ preventScroll: true });
  actions.onDraw();
}

/** A form for the results of calls that wait. */
function askResults() {
  const calls = openCalls(current.messages);
  if (calls.length === 0 || isRunning(current.id)) return undefined;
  return views.at(-1).askResults(calls, (results) => ask(results));
}

/** The settings for a request; undefined where it cannot begin, which is shown. */
function fieldsOrProblem() {
  showProblem();
  try {
    if (isRunning(current.id)) throw new Error('An answer is under way: stop it first.');
    return requestFields();
  } catch (error) {
    showProblem(error);
    return undefined;
  }
}

/** Adds messages and begins the answer; false where the settings are wrong, or an answer is under way. */
function ask(added, before = current.messages) {
  const fields = fieldsOrProblem();
  if (!fields) return false;
  current.messages = [...before, ...added];
  redraw();
  void answer(current, fields);
  return true;
}

const counted = (count) => (count === 1 ? '1 message is' : `${count} messages are`);

const actions = {
  edit(view) {
    const index = views.indexOf(view);
    const later = current.messages.length - index - 1;
    view.edit(later, (content) => {
      const { messages } = current;
      const isSent = ask([{ role: 'user', content }], messages.slice(0, index));
      if (isSent) offerBack(messages, index);
      return isSent;
    });
  },
  regenerate(view) {
    const { messages } = current;
    const index = views.indexOf(view);
    if (ask([], messages.slice(0, index))) offerBack(messages, index);
  },
  goOn(view) {
    const given = fieldsOrProblem();
    if (!given) return;
    const { tools, tool_choice, response_format, ...fields } = given; // only plain text is continued
    const { messages } = current;
    const later = views.indexOf(view) + 1;
    if (later < messages.length) {
      current.messages = messages.slice(0, later);
      redraw();
      offerBack(messages, later);
    }
    void answer(current, { ...fields, continue_final_message: true }, view.message);
  },
  remove(view) {
    const { messages } = current;
    const index = views.indexOf(view);
    stop(current.id);
    current.messages = messages.slice(0, index);
    redraw();
    void save(current);
    offerBack(messages, index, 'deleted');
  },
  onDraw: () => {
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  },
};

/** Tells that messages are gone, and takes it back where asked. */
function offerBack(messages, index, what = 'replaced') {
  const conversation = current;
  tell(`${counted(messages.length - index)} ${what}.`, () => {
    stop(conversation.id);
    conversation.messages = messages;
    void save(conversation);
    open(conversation);
  });
}

// What comes is kept in view, unless the reader has scrolled up.
let isAtEnd = true;
let lastTop = 0;
list.addEventListener('scroll', () => {
  const { scrollTop, scrollHeight, clientHeight } = list;
  if (scrollHeight - scrollTop - clientHeight < 60) isAtEnd = true;
  else if (scrollTop < lastTop) isAtEnd = false; // what has come since the last scrolling is no reason
  lastTop = scrollTop;
});

function toEnd() {
  isAtEnd = true;
  list.scrollTop = list.scrollHeight;
}

function append(message) {
  const view = new MessageView(message, actions);
  views.push(view);
  list.append(view.item);
  if (isOpenAnswer(message)) view.update();
  else view.end();
  toEnd();
}

function redraw() {
  views = [];
  list.replaceChildren();
  for (const message of current.messages) append(message);
  askResults();
  showState();
}

const isOpenAnswer = (message) => running.get(current.id)?.message === message;

/** Shows a conversation. */
function open(conversation) {
  current = conversation;
  keep('conversation', current.id, 'sessionStorage');
  restore(current.settings);
  speed.textContent = '';
  redraw();
  draw();
}

function showState() {
  const isBusy = isRunning(current.id);
  send.disabled = isBusy;
  stopButton.disabled = !isBusy;
  list.setAttribute('aria-busy', String(isBusy));
  title.textContent = titleOf(current);
}

function tellSpeed({ completion_tokens: tokens, prompt_tokens: read, prompt_tokens_details: details }, ms) {
  const rate = ((1000 * tokens) / ms).toFixed(1);
  speed.textContent = `${tokens} tokens, ${rate} per second; prompt ${read}, ${details.cached_tokens} from the cache`;
}

function begin() {
  prompt.value = '';
  open(newConversation());
  prompt.focus();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (ask([{ role: 'user', content: prompt.value }])) prompt.value = '';
});

prompt.addEventListener('keydown', (event) => {
  if (!sends(event)) return;
  event.preventDefault();
  form.requestSubmit();
});

stopButton.addEventListener('click', () => stop(current.id));
clear.addEventListener('click', begin);

showState();
void load({ open, stop, isRunning, isOpen: (id) => id === current.id, closed: begin }).then(() => {
  const last = find(kept('conversation', 'sessionStorage'));
  if (last && current.messages.length === 0) open(last);
});
