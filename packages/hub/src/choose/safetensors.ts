/** Weights at the root, in the layout of transformers. */
const weights = /^(model|pytorch_model)?[\w.-]*\.safetensors$/;

/** Mistral's own layout, beside that of transformers: the same weights twice. */
const consolidated = /^consolidated[\w.-]*\.safetensors$/;

/** Configuration and tokenizer; also the folders of sentence-transformers ('1_Pooling', '2_Dense'). */
const beside =
  /^(?:\d+_[A-Z]\w*\/)?(?:[\w.-]+\.json|[\w.-]+\.jinja|merges\.txt|vocab\.txt|[\w.-]+\.model|tokenizer[\w.-]*\.tiktoken)$/;

const dense = /^\d+_[A-Z]\w*\/model\.safetensors$/;

/** The index of sharded weights. */
export const indexName = 'model.safetensors.index.json';

/** The files of a transformers folder; empty: there are no safetensors with a config.json. Never weights of pytorch. */
export function safetensorsFiles(paths: readonly string[]): readonly string[] {
  const found = paths.filter((path) => weights.test(path));
  const chosen = found.filter((path) => !consolidated.test(path));
  if (chosen.length === 0 || !paths.includes('config.json')) return [];
  return paths.filter((path) => chosen.includes(path) || beside.test(path) || dense.test(path));
}
