import { Option } from 'commander';
import { parserOf, wholeFrom } from '../options.js';

/** An option with a whole number from `least` on. */
export const wholeOption = (flags: string, about: string, least: number): Option =>
  new Option(flags, about).argParser(parserOf(wholeFrom(least)));
