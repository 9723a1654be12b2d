// Embeddings, reranking and transcription of the AI SDK, over random models; the parts of an answer.
import type { ChatPiece, Embedder, SpeechModel } from '@quern/runtime';
import { cosineSimilarity, embed, embedMany, rerank, experimental_transcribe as transcribe } from 'ai';
import { createQuern, type QuernProvider } from '../src/index.js';
import { StreamParts } from '../src/stream-parts.js';
import { loadEncoder, loadWhisper, tone } from './models.js';

let encoder: Embedder;
let whisper: SpeechModel;
let quern: QuernProvider;
beforeAll(async () => {
  [encoder, whisper] = await Promise.all([loadEncoder(), loadWhisper()]);
  quern = createQuern({ models: { encoder, whisper } });
});
afterAll(() => {
  encoder.dispose();
  whisper.dispose();
});

describe('embeddings', () => {
  const values = ['a mill', 'a river by the mill', 'a fox'];

  test('many and one: the numbers of the runtime', async () => {
    const direct = await encoder.embed(values);
    const { embeddings, usage } = await embedMany({ model: quern.embeddingModel('encoder'), values });
    expect(embeddings.flat()).toEqual(Array.from(direct.values));
    expect(usage.tokens).toBe(direct.tokens);
    const { embedding } = await embed({ model: quern.textEmbeddingModel('encoder'), value: values[1]! });
    expect(cosineSimilarity(embedding, embeddings[1]!)).toBeCloseTo(1, 5);
  });

  test('texts that are cut off are warned of', async () => {
    const providerOptions = { quern: { maxTokens: 3 } };
    const { warnings } = await embedMany({ model: quern.embeddingModel('encoder'), values, providerOptions });
    expect(warnings).toEqual([{ type: 'other', message: expect.stringContaining('cut off') }]);
  });
});

test('reranking: texts, and objects as JSON', async () => {
  const model = quern.rerankingModel('encoder');
  const documents = ['one', 'two', 'three'];
  const { ranked } = await encoder.rerank('a mill', documents);
  const { ranking } = await rerank({ model, query: 'a mill', documents, topN: 2 });
  expect(ranking.map(({ originalIndex, score }) => [originalIndex, score])).toEqual(
    ranked.slice(0, 2).map(({ index, score }) => [index, score]),
  );
  const objects = { type: 'object' as const, values: [{ a: 1 }, { a: 2 }] };
  const result = await model.doRerank({ query: 'a mill', documents: objects });
  expect(result.ranking).toHaveLength(2);
  expect(result.warnings).toMatchObject([{ type: 'compatibility' }]);
});

test('transcription, from bytes and from base64', async () => {
  const providerOptions = { quern: { language: 'en', temperatures: [0], maxTokens: 4 } };
  const ask = { model: quern.transcriptionModel('whisper'), providerOptions };
  const audio = tone(0.5);
  const direct = await whisper.transcribe(audio, providerOptions.quern).result;
  for (const sound of [audio, Buffer.from(audio).toString('base64')]) {
    const result = await ask.model.doGenerate({ audio: sound, mediaType: 'audio/wav', providerOptions });
    expect(result).toMatchObject({ text: direct.text, language: 'en', durationInSeconds: 0.5 });
    expect(result.segments).toHaveLength(direct.segments.length);
  }
  const broken = transcribe({ ...ask, audio: new Uint8Array(100), maxRetries: 0 });
  await expect(broken).rejects.toMatchObject({ name: 'AudioError' });
});

test('the signal reaches the runtime', async () => {
  const abortSignal = AbortSignal.abort();
  const documents = { type: 'text' as const, values: ['one'] };
  const sound = { audio: tone(0.5), mediaType: 'audio/wav' };
  for (const call of [
    () => quern.embeddingModel('encoder').doEmbed({ values: ['a mill'], abortSignal }),
    () => quern.rerankingModel('encoder').doRerank({ query: 'a mill', documents, abortSignal }),
    () => quern.transcriptionModel('whisper').doGenerate({ ...sound, abortSignal }),
  ])
    await expect(call()).rejects.toMatchObject({ name: 'AbortError' });
});

test('thoughts, text and two calls become blocks, one after the other', () => {
  const parts = new StreamParts();
  const piece = (more: Partial<ChatPiece>): ChatPiece => ({
    text: '',
    thinking: '',
    calls: [],
    results: [],
    tokens: [],
    ...more,
  });
  const call = (index: number, text: string) => ({ index, id: `c${index}`, name: 'f', arguments: text });
  const all = [
    piece({ thinking: 'a' }),
    piece({ thinking: 'b', text: 'c' }),
    piece({ calls: [call(0, '')] }),
    piece({ calls: [call(0, '{}'), call(1, '{"x')] }),
    piece({ calls: [call(1, '":1}')] }),
    piece({ text: 'd' }),
  ].flatMap((each) => [...parts.next(each)]);
  expect([...all, ...parts.close()]).toEqual([
    { type: 'reasoning-start', id: 'reasoning-0' },
    { type: 'reasoning-delta', id: 'reasoning-0', delta: 'a' },
    { type: 'reasoning-delta', id: 'reasoning-0', delta: 'b' },
    { type: 'reasoning-end', id: 'reasoning-0' },
    { type: 'text-start', id: 'text-1' },
    { type: 'text-delta', id: 'text-1', delta: 'c' },
    { type: 'text-end', id: 'text-1' },
    { type: 'tool-input-start', id: 'c0', toolName: 'f' },
    { type: 'tool-input-delta', id: 'c0', delta: '{}' },
    { type: 'tool-input-end', id: 'c0' },
    { type: 'tool-call', toolCallId: 'c0', toolName: 'f', input: '{}' },
    { type: 'tool-input-start', id: 'c1', toolName: 'f' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"x' },
    { type: 'tool-input-delta', id: 'c1', delta: '":1}' },
    { type: 'tool-input-end', id: 'c1' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' },
    { type: 'text-start', id: 'text-2' },
    { type: 'text-delta', id: 'text-2', delta: 'd' },
    { type: 'text-end', id: 'text-2' },
  ]);
});
