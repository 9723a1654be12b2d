export { type EncoderShape, type EncoderShapeName, encoderShapes } from './encoder-shapes.js';
export { makeSyntheticEncoder, type SyntheticEncoderOptions } from './make-encoder.js';
export { makeSyntheticModel, type SyntheticOptions } from './make-synthetic.js';
export { type RecipeName, recipes } from './recipes.js';
export { type ModelShape, type ModelShapeName, modelShapes } from './shapes.js';
