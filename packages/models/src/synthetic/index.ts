export { type EncoderShape, type EncoderShapeName, encoderShapes } from './encoder-shapes.js';
export { type SyntheticFormat, syntheticFormats } from './formats.js';
export {
  makeSyntheticEncoder,
  type SyntheticEncoderOptions,
  syntheticEncoderSchema,
} from './make-encoder.js';
export { makeSyntheticModel, type SyntheticOptions, syntheticSchema } from './make-synthetic.js';
export { type ModelShape, type ModelShapeName, modelShapes } from './shapes.js';
