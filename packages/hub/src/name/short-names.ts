/**
 * Short names and their repositories of GGUF files, as family → tag → repository. Each repository has an instruct
 * model, or an embedding model; the quantisation is chosen as for any other name.
 */
export const shortNames = {
  qwen3: {
    '0.6b': 'Qwen/Qwen3-0.6B-GGUF',
    '1.7b': 'Qwen/Qwen3-1.7B-GGUF',
    '4b': 'Qwen/Qwen3-4B-GGUF',
    '8b': 'Qwen/Qwen3-8B-GGUF',
    '14b': 'Qwen/Qwen3-14B-GGUF',
    '30b-a3b': 'Qwen/Qwen3-30B-A3B-GGUF',
  },
  'qwen2.5': {
    '0.5b': 'Qwen/Qwen2.5-0.5B-Instruct-GGUF',
    '1.5b': 'Qwen/Qwen2.5-1.5B-Instruct-GGUF',
    '7b': 'Qwen/Qwen2.5-7B-Instruct-GGUF',
  },
  'llama3.2': {
    '1b': 'bartowski/Llama-3.2-1B-Instruct-GGUF',
    '3b': 'bartowski/Llama-3.2-3B-Instruct-GGUF',
  },
  'llama3.1': { '8b': 'bartowski/Meta-Llama-3.1-8B-Instruct-GGUF' },
  gemma3: {
    '1b': 'ggml-org/gemma-3-1b-it-GGUF',
    '4b': 'ggml-org/gemma-3-4b-it-GGUF',
  },
  mistral: { '7b': 'bartowski/Mistral-7B-Instruct-v0.3-GGUF' },
  'phi3.5': { '3.8b': 'bartowski/Phi-3.5-mini-instruct-GGUF' },
  'nomic-embed-text': { 'v1.5': 'nomic-ai/nomic-embed-text-v1.5-GGUF' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

/** All short names: 'qwen3:0.6b', … */
export const allShortNames: readonly string[] = Object.entries(shortNames).flatMap(([family, tags]) =>
  Object.keys(tags).map((tag) => `${family}:${tag}`),
);

/** The repository of a short name. */
export function repositoryOf(family: string, tag: string): string | undefined {
  const tags: Readonly<Record<string, string>> | undefined = Object.hasOwn(shortNames, family)
    ? shortNames[family as keyof typeof shortNames]
    : undefined;
  return tags !== undefined && Object.hasOwn(tags, tag) ? tags[tag] : undefined;
}
