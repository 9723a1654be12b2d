export { compileChoices, compileRegex } from './compile.js';
export { GrammarError, type GrammarErrorCode } from './error.js';
export { compileGbnf } from './gbnf.js';
export { Grammar } from './grammar.js';
export { Matcher } from './matcher.js';
export { compileSchema, type SchemaOptions } from './schema/compile-schema.js';
export type { InferSchema } from './schema/infer.js';
export { compileStructure, type Structure } from './structure.js';
export { Vocabulary, type VocabularyOptions } from './vocabulary/vocabulary.js';
