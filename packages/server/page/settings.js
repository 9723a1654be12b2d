import { keep, kept } from './kept.js';

const form = document.getElementById('settings');

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

/** The settings as texts, by their names. */
export const settings = () => Object.fromEntries(new FormData(form));

/** Shows settings that were kept; whatever else stands there is passed over. */
export function restore(values) {
  for (const field of form.elements) {
    const value = field.name && Object.hasOwn(values ?? {}, field.name) ? values[field.name] : undefined;
    if (typeof value !== 'string') continue;
    if (field.name === 'model') field.dataset.wanted = value; // the list of models may not be there yet
    const isChoice = !field.options || [...field.options].some((option) => option.value === value);
    if (isChoice) field.value = value;
  }
}

/** The settings as fields of a request; empty ones are left out. Throws where one is not JSON. */
export function requestFields() {
  const values = settings();
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

export function systemMessages() {
  const text = form.elements.system.value.trim();
  return text ? [{ role: 'system', content: text }] : [];
}

const place = 'settings';

form.addEventListener('change', () => keep(place, JSON.stringify(settings())));
form.addEventListener('submit', (event) => event.preventDefault());

try {
  restore(JSON.parse(kept(place)));
} catch {
  // not JSON: the defaults stay
}
