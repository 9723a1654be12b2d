import { Answer, show } from './answer.js';
import { eventsOf, postJson, showingProblems } from './api.js';

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

/** Numbers keep their digits, where the browser can say and write them. */
const exact = (_key, value, { source } = {}) =>
  typeof value === 'number' && source !== undefined && String(value) !== source && JSON.rawJSON
    ? JSON.rawJSON(source)
    : value;

const parsed = (name, text) => {
  try {
    return JSON.parse(text, exact);
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
    ...(values.tools.trim() && {
      tools: parsed('the list of tools', values.tools),
      tool_choice: values.tool_choice,
    }),
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
    if (event.choices[0]) answered.add(event.choices[0]);
    if (event.usage) tell(event.usage, performance.now() - begin);
  }
  messages.push(answered.message);
  return answered;
}

function tell({ completion_tokens: tokens, prompt_tokens: prompt, prompt_tokens_details: details }, ms) {
  const rate = ((1000 * tokens) / ms).toFixed(1);
  speed.textContent = `${tokens} tokens, ${rate} per second; prompt ${prompt}, ${details.cached_tokens} from the cache`;
}

function busy(isBusy) {
  send.disabled = isBusy;
  stop.disabled = !isBusy;
}

/** Adds messages and shows the answer. Calls in it wait for their results, or for another message instead. */
async function ask(...added) {
  for (const { role, content } of added) show(role, content);
  messages.push(...added);
  abort = new AbortController();
  busy(true);
  const answered = await showingProblems(answer);
  busy(false);
  prompt.focus();
  if (answered?.isCalling) answered.askResults((results) => ask(...results));
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (send.disabled) return;
  const content = prompt.value;
  prompt.value = '';
  list.querySelector('.results')?.remove();
  ask({ role: 'user', content });
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
