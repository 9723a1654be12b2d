export { type SyntheticFormat, syntheticFormats } from './formats.js';
export { makeSyntheticModel, type SyntheticOptions } from './make-synthetic.js';
export { type ModelShape, type ModelShapeName, modelShapes } from './shapes.js';
