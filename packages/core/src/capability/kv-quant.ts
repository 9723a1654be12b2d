/** Cache element types beside f32 and f16: `KvCacheOptions.dtype` takes them where this lists them. */
export interface KvQuant {
  /** 'int8' keeps one f32 scale per token and kv head (max|x| / 127); 'fp8' is e4m3 with the same scales. */
  readonly dtypes: ReadonlySet<'bf16' | 'int8' | 'fp8'>;
}
