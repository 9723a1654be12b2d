export type { Closeness } from './closeness.js';
export { ConformanceError, type ConformanceErrorCode } from './error.js';
export type { Codec, ConformanceOptions, Result } from './options.js';
export { formatReport, type Report } from './report.js';
export { runConformance } from './run.js';
export { conformanceTests, type TestFramework } from './test-adapter.js';
