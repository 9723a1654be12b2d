import {
  type EncoderShapeName,
  encoderShapes,
  type ModelKind,
  type ModelShapeName,
  makeSyntheticEncoder,
  makeSyntheticModel,
  makeSyntheticSpeechModel,
  modelShapes,
  type SpeechShapeName,
  type SyntheticFormat,
  speechShapes,
} from '@quern/runtime';

export interface SyntheticFile {
  readonly format: SyntheticFormat;
  readonly seed: number;
  readonly signal: AbortSignal;
}

interface Kind {
  readonly shapes: Readonly<Record<string, unknown>>;
  make(path: string, shape: string, options: SyntheticFile): Promise<void>;
}

const kinds: Readonly<Record<ModelKind, Kind>> = {
  language: {
    shapes: modelShapes,
    make: (path, shape, options) => makeSyntheticModel(path, { shape: shape as ModelShapeName, ...options }),
  },
  encoder: {
    shapes: encoderShapes,
    make: (path, shape, options) =>
      makeSyntheticEncoder(path, { shape: shape as EncoderShapeName, ...options }),
  },
  speech: {
    shapes: speechShapes,
    make: (path, shape, options) =>
      makeSyntheticSpeechModel(path, { shape: shape as SpeechShapeName, ...options }),
  },
};

/** The kind of model of every shape. */
export const archs: Readonly<Record<string, ModelKind>> = Object.fromEntries(
  (Object.keys(kinds) as ModelKind[]).flatMap((kind) =>
    Object.keys(kinds[kind].shapes).map((shape) => [shape, kind]),
  ),
);

/** Writes a random model of a shape. Rejects with ModelError, FileError. */
export const makeArch = (path: string, shape: string, options: SyntheticFile): Promise<void> =>
  kinds[archs[shape]!].make(path, shape, options);
