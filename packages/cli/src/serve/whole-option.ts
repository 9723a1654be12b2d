import { InvalidArgumentError, Option } from 'commander';

/** An option with a whole number from `least` on. */
export const wholeOption = (flags: string, about: string, least: number): Option =>
  new Option(flags, about).argParser((text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`it must be a whole number from ${least}.`);
  });
