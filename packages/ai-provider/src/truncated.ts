import type { SharedV3Warning } from '@ai-sdk/provider';

/** Warns of texts that an encoder did not read to their end. */
export const truncated = ({ truncated: count }: { readonly truncated: number }): SharedV3Warning[] =>
  count === 0
    ? []
    : [
        {
          type: 'other',
          message: `${count} of the texts had too many tokens for the model and were cut off at the end`,
        },
      ];
