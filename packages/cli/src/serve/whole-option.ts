import { Option } from 'commander';
import { parserOf, wholeFrom } from '../options.js';

/** An option with a whole number from `least` on, up to `most`. */
export const wholeOption = (flags: string, about: string, least: number, most?: number): Option =>
  new Option(flags, about).argParser(parserOf(wholeFrom(least, most)));
