// Made by tools/generate-native-formats.mjs from the table of @quern/quant and the files of kernels/; edit those instead.

/** Block formats that the kernels read. */
export const gpuFormats: readonly string[] = [
  'q4_0',
  'q4_1',
  'q5_0',
  'q5_1',
  'q8_0',
  'q2_k',
  'q3_k',
  'q4_k',
  'q5_k',
  'q6_k',
  'iq4_nl',
  'iq4_xs',
  'mxfp4',
  'iq8',
  'f8',
];
