import { limits } from '../config/decoder-config.js';
import { readGelu } from '../config/gelu.js';
import { bertEncoder } from './bert.js';
import { bertWeights } from './bert-weights.js';
import type { EncoderArchitecture } from './encoder.js';
import { bertKeys, encoderConfigFromGguf, encoderConfigFromHuggingFace } from './encoder-config.js';
import { renameBert } from './rename.js';

/** RoBERTa and XLM-R (Liu et al. 2019; Conneau et al. 2020): BERT with first position = padding token id + 1. */
export const roberta: EncoderArchitecture = {
  kind: 'encoder',
  name: 'roberta',
  names: {
    gguf: [],
    huggingFace: [
      'RobertaModel',
      'RobertaForMaskedLM',
      'RobertaForSequenceClassification',
      'XLMRobertaModel',
      'XLMRobertaForMaskedLM',
      'XLMRobertaForSequenceClassification',
      'CamembertModel',
      'roberta',
      'xlm-roberta',
    ],
  },
  weights: bertWeights,
  gguf: { name: 'bert' },
  rename: renameBert,
  configFromGguf: encoderConfigFromGguf,
  configFromHuggingFace(source) {
    const padding = source.settings.whole('pad_token_id', limits.vocabulary, 1, 0);
    return {
      ...encoderConfigFromHuggingFace(source, bertKeys, padding + 1),
      gelu: readGelu(source.settings),
    };
  },
  build: bertEncoder,
};
