import { quantisationOrder } from '@quern/hub';
import { chooseFiles } from '../src/choose/choose-files.js';
import { ggufName } from '../src/choose/gguf-name.js';
import { parseName } from '../src/name/parse-name.js';

const choose = (paths: readonly string[], name = 'hf:o/n') => chooseFiles(paths, parseName(name));

const fault = (paths: readonly string[], name?: string) => {
  try {
    choose(paths, name);
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error('nothing was refused');
};

test.each([
  ['Qwen3-0.6B-Q8_0.gguf', 'Q8_0'],
  ['qwen2.5-7b-instruct-q4_k_m-00001-of-00002.gguf', 'Q4_K_M'],
  ['Phi-3-mini-4k-instruct-q4.gguf', 'Q4'],
  ['gemma-3-1b-it-f16.gguf', 'F16'],
  ['model-fp16.gguf', 'F16'],
  ['x.IQ4_XS.gguf', 'IQ4_XS'],
  ['UD-Q4_K_XL/M-UD-Q4_K_XL-00001-of-00003.gguf', 'UD-Q4_K_XL'],
  ['BF16/M-00001-of-00002.gguf', 'BF16'],
  ['gpt-oss-20b-mxfp4.gguf', 'MXFP4'],
  ['Qwen3.gguf', undefined],
  ['Q2-model.gguf', 'Q2'],
])('%s is %s', (path, quantisation) => {
  expect(ggufName(path).quantisation).toBe(quantisation);
});

test('one quantisation: the first in the order', () => {
  const paths = [
    'm-F16.gguf',
    'm-Q8_0.gguf',
    'm-Q4_K_M.gguf',
    'm-Q2_K.gguf',
    'README.md',
    'model.safetensors',
    'config.json',
  ];
  expect(choose(paths)).toMatchObject({ kind: 'gguf', paths: ['m-Q4_K_M.gguf'], quantisation: 'Q4_K_M' });
  expect(choose(paths.filter((path) => path !== 'm-Q4_K_M.gguf')).paths).toEqual(['m-Q8_0.gguf']);
  expect(choose(['m-F16.gguf', 'm-Q2_K.gguf']).paths).toEqual(['m-F16.gguf']);
  expect(new Set(quantisationOrder).size).toBe(quantisationOrder.length);
});

test('the given quantisation, in capitals or not; others are listed', () => {
  const paths = ['m-Q4_K_M.gguf', 'm-fp16.gguf'];
  expect(choose(paths, 'hf:o/n:f16').paths).toEqual(['m-fp16.gguf']);
  expect(choose(paths, 'hf:o/n:FP16').paths).toEqual(['m-fp16.gguf']);
  expect(fault(paths, 'hf:o/n:Q5_0')).toMatchObject({
    code: 'NO_QUANTISATION',
    message: expect.stringContaining('it has Q4_K_M, F16'),
  });
  expect(fault(['model.safetensors'], 'hf:o/n:Q5_0').message).toContain('it has model.safetensors');
});

test('all files of a split, in their order, and the projector beside them', () => {
  const paths = [
    'q/m-Q4_K_M-00002-of-00002.gguf',
    'q/m-Q4_K_M-00001-of-00002.gguf',
    'mmproj-m-f32.gguf',
    'mmproj-m-f16.gguf',
    'm.imatrix.gguf',
  ];
  expect(choose(paths)).toMatchObject({
    main: 'q/m-Q4_K_M-00001-of-00002.gguf',
    paths: ['q/m-Q4_K_M-00001-of-00002.gguf', 'q/m-Q4_K_M-00002-of-00002.gguf', 'mmproj-m-f16.gguf'],
    projector: 'mmproj-m-f16.gguf',
  });
  expect(choose(paths, 'hf:o/n:q/m-Q4_K_M-00002-of-00002.gguf').paths).toHaveLength(3);
  expect(fault(paths.slice(0, 1))).toMatchObject({
    code: 'INCOMPLETE',
    message: expect.stringContaining('1 of the 2 files'),
  });
});

test('several models of one quantisation: by path', () => {
  const paths = ['small-Q8_0.gguf', 'large-Q8_0.gguf'];
  expect(fault(paths)).toMatchObject({
    code: 'AMBIGUOUS',
    message: expect.stringContaining('as hf:o/n:small-Q8_0.gguf'),
  });
  expect(choose(paths, 'hf:o/n:large-Q8_0.gguf').paths).toEqual(['large-Q8_0.gguf']);
  expect(fault(paths, 'hf:o/n:none.gguf').code).toBe('NOT_FOUND');
});

test('safetensors with configuration and tokenizer, never pytorch', () => {
  const wanted = [
    '1_Pooling/config.json',
    'config.json',
    'merges.txt',
    'model-00001-of-00002.safetensors',
    'model-00002-of-00002.safetensors',
    'model.safetensors.index.json',
    'modules.json',
    'tokenizer.json',
    'tokenizer.model',
    'chat_template.jinja',
  ];
  const rest = [
    'pytorch_model.bin',
    'consolidated.safetensors',
    'onnx/model.onnx',
    'onnx/config.json',
    'openvino/model.safetensors',
    'README.md',
    '.gitattributes',
    'original/params.json',
    'training_args.bin',
  ];
  const choice = choose([...wanted, ...rest]);
  expect(choice).toMatchObject({ kind: 'safetensors', main: 'config.json' });
  expect([...choice.paths].sort()).toEqual([...wanted].sort());
});

test('a file of whisper.cpp, by its path alone', () => {
  const paths = ['ggml-tiny.bin', 'ggml-base.bin', 'README.md'];
  const choice = choose(paths, 'hf:o/n:ggml-tiny.bin');
  expect(choice).toEqual({ kind: 'whisper', main: 'ggml-tiny.bin', paths: ['ggml-tiny.bin'] });
  expect(fault(paths).code).toBe('NO_MODEL');
});

test('nothing to load: what is there', () => {
  expect(fault(['pytorch_model.bin', 'config.json', 'README.md'])).toMatchObject({
    code: 'NO_MODEL',
    message: expect.stringContaining('it has pytorch_model.bin, config.json, README.md'),
  });
  expect(fault(['model.safetensors']).code).toBe('NO_MODEL');
  expect(fault([]).message).toContain('it is empty');
  expect(fault(Array.from({ length: 20 }, (_, i) => `${i}.txt`)).message).toContain('and 8 more');
});
