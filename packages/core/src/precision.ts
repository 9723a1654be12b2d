/**
 * How a backend may round products and attention, fastest first. A backend that knows fewer ways takes all three names
 * and rounds no more than asked.
 *
 * - 'fast': many rows are multiplied with weights rounded once more, to int8 (one step per 256 weights) or bf16; the
 *   attention of prompts rounds to bf16.
 * - 'standard' (the usual default): activations of quantised weights are rounded to int8, a scale per 32 values; nothing
 *   else is rounded. Weights of 16 and 32 bits: products of floats. A product gives a row the same bits for any number
 *   of rows. A device may take more than `profile.exactRows` rows in another form that is nearer to the product of floats
 *   (backend-cpu with AMX: both factors of quantised weights in bf16; floats in two bf16 parts). A GPU may round the
 *   activations of bf16 weights to bf16. Only `batchInvariant` products and attention without a cache (encoders: BERT,
 *   Whisper's) may round as 'fast'.
 * - 'exact': products of floats; quantised weights are decoded, activations never rounded.
 */
export const precisions = ['fast', 'standard', 'exact'] as const;
export type Precision = (typeof precisions)[number];
