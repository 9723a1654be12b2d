import type { Model } from '../../../src/index.js';

export declare const heldOutStories: readonly string[];

export declare function perplexity(model: Model, texts: readonly string[]): Promise<number>;
