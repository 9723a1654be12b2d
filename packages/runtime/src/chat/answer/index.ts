export { AnswerParser, type AnswerParserOptions } from './answer-parser.js';
export { type CallFormat, callFormatOf, callFormats } from './call-formats.js';
export type { AnswerTool } from './call-output.js';
export { type CallStructureOptions, callStructure } from './call-structure.js';
export type { AnswerCall, AnswerEvent } from './events.js';
