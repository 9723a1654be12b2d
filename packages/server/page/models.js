import { get, jsonOf, showingProblems } from './api.js';
import { element, table, wideBox } from './elements.js';
import { leaveDisabled } from './tabs.js';

const lists = { generation: 'model', embedding: 'embedding-model', speech: 'speech-model' };
const tabs = { generation: 'tab-chat', embedding: 'tab-embeddings', speech: 'tab-speech' };

/** The layers of a model on its backends, and the memory that they take. */
function planOf({ plan = [] }) {
  return plan
    .map(({ backend, firstLayer, endLayer, precision, memory }) => {
      const megabytes = (memory.weights + memory.activations + memory.cache) / 1e6;
      return `layers ${firstLayer} to ${endLayer - 1} on ${backend} (${precision}), ${megabytes.toFixed(0)} MB`;
    })
    .join('; ');
}

/** The names as choices; the one that was chosen stays. */
function fill(select, names) {
  const { wanted = select.value } = select.dataset;
  select.replaceChildren(...names.map((name) => element('option', { value: name, textContent: name })));
  if (names.includes(wanted)) select.value = wanted;
}

/** Fills the lists of models. A view without a model is disabled. */
export const showModels = () =>
  showingProblems(async () => {
    const { data } = await jsonOf(await get('v1/models'));
    for (const [kind, id] of Object.entries(lists)) {
      const names = data.filter((model) => model.kind === kind).map((model) => model.id);
      fill(document.getElementById(id), names);
      document.getElementById(tabs[kind]).disabled = names.length === 0;
    }
    leaveDisabled();
    const rows = data.map((model) => [
      model.id,
      model.kind,
      String(model.max_model_len ?? ''),
      planOf(model),
    ]);
    const shown = table(['model', 'kind', 'context', 'plan'], rows);
    document.getElementById('models').replaceChildren(wideBox('Models', shown));
  });
