/** The 16 values of iq4_nl and iq4_xs (kvalues_iq4nl of ggml-common.h). */
export const iq4Values = Int8Array.of(
  -127,
  -104,
  -83,
  -65,
  -49,
  -35,
  -22,
  -10,
  1,
  13,
  25,
  38,
  53,
  69,
  89,
  113,
);

/** The 16 values of a 4-bit float (E2M1), doubled to be whole (kvalues_mxfp4 of ggml-common.h). */
export const fp4Values = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
