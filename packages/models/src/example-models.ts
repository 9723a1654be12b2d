/** A model of each kind, by a name that `quern pull` and every command take: packages/cli/test/wrong-kind.test.ts checks them. */
export const exampleModels = {
  language: 'qwen3:0.6b',
  encoder: 'nomic-embed-text:v1.5',
  crossEncoder: 'hf:BAAI/bge-reranker-base',
  speech: 'hf:ggerganov/whisper.cpp:ggml-tiny.bin',
} as const;
