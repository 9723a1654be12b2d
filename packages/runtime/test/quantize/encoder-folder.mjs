// Random encoders as Hugging Face folders. JavaScript, because tools/bench/written-files.mjs also uses it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal } from '@quern/core/testing';
import { bert, nomicBert, roberta } from '@quern/models';
import { writeSafetensors } from './safetensors.mjs';

const sizes = { layers: 2, width: 64, heads: 2, headDim: 32, feedForward: 256, context: 60 };

/** Settings common to all classes here. */
const common = {
  hidden_size: sizes.width,
  num_hidden_layers: sizes.layers,
  num_attention_heads: sizes.heads,
  intermediate_size: sizes.feedForward,
  layer_norm_eps: 1e-12,
};

const letters = [...'abcdefghijklmnopqrstuvwxyz0123456789'];
const words = ['the', 'cat', 'sat', 'on', 'a', 'mat', 'play', 'walk', 'naive', '狐'];

const template = (first, last, vocab) => ({
  type: 'TemplateProcessing',
  single: [
    { SpecialToken: { id: first, type_id: 0 } },
    { Sequence: { id: 'A', type_id: 0 } },
    { SpecialToken: { id: last, type_id: 0 } },
  ],
  pair: [
    { SpecialToken: { id: first, type_id: 0 } },
    { Sequence: { id: 'A', type_id: 0 } },
    { SpecialToken: { id: last, type_id: 0 } },
    { Sequence: { id: 'B', type_id: 1 } },
    { SpecialToken: { id: last, type_id: 1 } },
  ],
  special_tokens: Object.fromEntries(
    [first, last].map((id) => [id, { id, ids: [vocab.indexOf(id)], tokens: [id] }]),
  ),
});

const special = (content, id) => ({ id, content, special: true, normalized: false });

function wordPiece() {
  const specials = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
  const parts = [...letters, ...',.!?'].flatMap((letter) => [letter, `##${letter}`]);
  const vocab = [...new Set([...specials, ...parts, ...words, '##ing', '##ed', '##s'])];
  const tokenizer = {
    added_tokens: specials.map(special),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: template('[CLS]', '[SEP]', vocab),
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocab.map((token, id) => [token, id])),
    },
  };
  const names = { unk_token: '[UNK]', cls_token: '[CLS]', sep_token: '[SEP]', pad_token: '[PAD]' };
  return { vocabulary: vocab.length, tokenizer, settings: { ...names, mask_token: '[MASK]' } };
}

function unigram() {
  const specials = ['<s>', '<pad>', '</s>', '<unk>'];
  const pieces = ['▁', ...letters, ...',.!?', ...words.map((word) => `▁${word}`), 'ing', 'ed', 's'];
  const vocab = [...new Set([...specials, ...pieces])];
  const tokenizer = {
    added_tokens: specials.map(special),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'WhitespaceSplit' },
        { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', add_prefix_space: true },
      ],
    },
    post_processor: template('<s>', '</s>', vocab),
    decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', add_prefix_space: true },
    model: {
      type: 'Unigram',
      unk_id: 3,
      vocab: vocab.map((piece, id) => [piece, id < 4 ? 0 : -1 - id / 40]),
    },
  };
  const names = { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' };
  return {
    vocabulary: vocab.length,
    tokenizer,
    settings: { ...names, cls_token: '<s>', sep_token: '</s>' },
  };
}

/** By name: architecture, configuration, pooling, tokenizer. */
export const encoderKinds = {
  bert: {
    architecture: bert,
    text: wordPiece(),
    pooling: 'cls',
    config: { architectures: ['BertModel'], max_position_embeddings: 60, type_vocab_size: 2 },
    shape: { positions: 60, segments: 2, labels: 0 },
  },
  'xlm-roberta': {
    architecture: roberta,
    text: unigram(),
    pooling: 'mean',
    config: {
      architectures: ['XLMRobertaModel'],
      max_position_embeddings: 62,
      type_vocab_size: 1,
      pad_token_id: 1,
    },
    shape: { positions: 62, segments: 1, labels: 0 },
  },
  'nomic-bert': {
    architecture: nomicBert,
    text: wordPiece(),
    pooling: 'mean',
    config: {
      architectures: ['NomicBertModel'],
      n_embd: sizes.width,
      n_layer: sizes.layers,
      n_head: sizes.heads,
      n_inner: sizes.feedForward,
      n_positions: 60,
      layer_norm_epsilon: 1e-12,
      rotary_emb_base: 1000,
      activation_function: 'swiglu',
    },
    shape: { positions: 0, segments: 2, labels: 0 },
  },
  'cross-encoder': {
    architecture: bert,
    text: wordPiece(),
    pooling: 'cls',
    config: {
      architectures: ['BertForSequenceClassification'],
      max_position_embeddings: 60,
      type_vocab_size: 2,
    },
    shape: { positions: 60, segments: 2, labels: 1 },
  },
};

/** Writes a folder of this kind, with sentence-transformers' modules. */
export function writeEncoderFolder(folder, kind) {
  const { architecture, text, pooling, config, shape } = encoderKinds[kind];
  const json = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
  json('config.json', { ...common, ...config, vocab_size: text.vocabulary });
  json('tokenizer.json', text.tokenizer);
  json('tokenizer_config.json', text.settings);
  json('modules.json', [
    { type: 'sentence_transformers.models.Transformer' },
    { type: 'sentence_transformers.models.Pooling' },
    { type: 'sentence_transformers.models.Normalize' },
  ]);
  mkdirSync(join(folder, '1_Pooling'), { recursive: true });
  json(join('1_Pooling', 'config.json'), {
    [`pooling_mode_${pooling}_${pooling === 'cls' ? 'token' : 'tokens'}`]: true,
  });
  const all = { ...sizes, ...shape, vocabulary: text.vocabulary };
  writeSafetensors(join(folder, 'model.safetensors'), randomTensors(architecture.weights, all));
}

/** Random weights for the table's entries. */
function randomTensors({ model, layer }, sizes) {
  const layers = Array.from({ length: sizes.layers }, (_, i) =>
    Object.entries(layer).map(([field, entry]) => [field, entry, i]),
  );
  const wanted = [...Object.entries(model), ...layers.flat()].filter(
    ([field, entry]) =>
      (entry.when?.(sizes) ?? true) &&
      (!entry.optional || (sizes.labels > 0 && /^(pooler|classifier)/.test(field))),
  );
  return wanted.map(([field, entry, i], seed) => {
    const shape = entry.shape(sizes);
    const isNorm = /norm$/i.test(field);
    const values = Float32Array.from(
      normal(seed + 1, shape, isNorm || field.endsWith('Bias') ? 0.1 : 0.2).values,
    );
    return {
      name: entry.huggingFace.replace('{i}', i),
      shape,
      values: isNorm ? values.map((x) => 1 + x) : values,
    };
  });
}
