import { InvalidArgumentError, type SharedV3ProviderOptions } from '@ai-sdk/provider';

/** The names of options as a list that is complete: a missing or misspelt one does not compile. */
export type Names<Options> = Readonly<Record<keyof Options, true>>;

/**
 * `providerOptions.quern`. The runtime checks the values.
 * @throws InvalidArgumentError for a name that is not among `names`
 */
export function ownOptions<Options extends object>(
  { quern = {} }: SharedV3ProviderOptions = {},
  names: Names<Options>,
): Partial<Options> {
  const unknown = Object.keys(quern).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return quern as Partial<Options>;
  throw new InvalidArgumentError({
    argument: `providerOptions.quern.${unknown}`,
    message: `providerOptions.quern has no option "${unknown}"; there are ${Object.keys(names).join(', ')}`,
  });
}
