import { eventsOf, postJson, showingProblems } from './api.js';
import { element } from './elements.js';

const list = document.getElementById('messages');
const form = document.getElementById('ask');
const prompt = document.getElementById('prompt');
const settings = document.getElementById('settings');
const [send, stop, clear, speed] = ['send', 'stop', 'clear', 'speed'].map((id) =>
  document.getElementById(id),
);

/** The conversation, in the form of the API. */
let messages = [];
let abort;

const parsed = (name, text) => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} is not JSON: ${error.message}`);
  }
};

/** The settings as fields of a request; empty ones are left out. */
function fields() {
  const values = Object.fromEntries(new FormData(settings));
  const numbers = ['temperature', 'top_p', 'max_tokens', 'seed'].filter((name) => values[name] !== '');
  return {
    model: values.model,
    ...Object.fromEntries(numbers.map((name) => [name, Number(values[name])])),
    ...(values.tools.trim() && { tools: parsed('the list of tools', values.tools) }),
    ...(values.schema.trim() && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: parsed('the schema', values.schema) },
      },
    }),
  };
}

const system = () => {
  const text = settings.elements.system.value.trim();
  return text ? [{ role: 'system', content: text }] : [];
};

function show(role, text = '') {
  const body = element('span', { textContent: text });
  const item = element(
    'li',
    { className: role },
    element('span', { className: 'who', textContent: role }),
    body,
  );
  list.append(item);
  item.scrollIntoView({ block: 'end' });
  return { item, body };
}

/** Shows an answer while it comes. */
class Answer {
  content = '';
  calls = [];

  constructor() {
    this.shown = show('assistant');
  }

  add({ content, reasoning_content: thinking, tool_calls: calls = [] }) {
    if (thinking) this.part('thinking').textContent += thinking;
    for (const call of calls) this.addCall(call);
    if (content) this.shown.body.textContent += content;
    this.content += content ?? '';
  }

  addCall({ index, id, function: { name, arguments: text = '' } }) {
    this.calls[index] ??= { id, type: 'function', function: { name, arguments: '' } };
    const call = this.calls[index].function;
    call.arguments += text;
    this.part(`call call-${index}`).textContent = `${call.name}(${call.arguments})`;
  }

  part(className) {
    const known = this.shown.item.querySelector(`.${className.split(' ').at(-1)}`);
    if (known) return known;
    const made = element('div', { className });
    this.shown.body.before(made);
    return made;
  }

  get message() {
    return {
      role: 'assistant',
      content: this.content,
      ...(this.calls.length > 0 && { tool_calls: this.calls }),
    };
  }
}

async function answer() {
  const answered = new Answer();
  const begin = performance.now();
  const body = {
    ...fields(),
    messages: [...system(), ...messages],
    stream: true,
    stream_options: { include_usage: true },
  };
  const response = await postJson('v1/chat/completions', body, abort.signal);
  for await (const event of eventsOf(response)) {
    if (event.error) throw new Error(event.error.message);
    if (event.choices[0]) answered.add(event.choices[0].delta);
    if (event.usage) tell(event.usage, performance.now() - begin);
  }
  messages.push(answered.message);
}

function tell({ completion_tokens: tokens, prompt_tokens: prompt, prompt_tokens_details: details }, ms) {
  const rate = ((1000 * tokens) / ms).toFixed(1);
  speed.textContent = `${tokens} tokens, ${rate} per second; prompt ${prompt}, ${details.cached_tokens} from the cache`;
}

function busy(isBusy) {
  send.disabled = isBusy;
  stop.disabled = !isBusy;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (send.disabled) return;
  messages.push({ role: 'user', content: prompt.value });
  show('user', prompt.value);
  prompt.value = '';
  abort = new AbortController();
  busy(true);
  await showingProblems(answer);
  busy(false);
  prompt.focus();
});

prompt.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

stop.addEventListener('click', () => abort?.abort());

clear.addEventListener('click', () => {
  abort?.abort();
  messages = [];
  list.replaceChildren();
  speed.textContent = '';
  prompt.focus();
});
