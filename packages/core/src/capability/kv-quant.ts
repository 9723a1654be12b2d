/** Optional element types of caches, besides f32 and f16. */
export type QuantKvDtype = 'bf16' | 'int8' | 'fp8';

/** Caches of other element types than f32 and f16. `KvCacheOptions.dtype` accepts the types in `dtypes`. */
export interface KvQuant {
  /** 'int8' and 'fp8' (E4M3) keep one f32 scale per token and kv head (max|x| / 127, / 448). */
  readonly dtypes: ReadonlySet<QuantKvDtype>;
}
