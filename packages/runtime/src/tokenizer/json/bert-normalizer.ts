import { IDEOGRAPHS, lowerCase, WHITESPACE } from './characters.js';
import type { Fields } from './fields.js';

const removed = /(?![\t\n\r])[\ufffd\p{Cc}\p{Cf}\p{Co}]/gu;
const spaces = new RegExp(`[${WHITESPACE}]`, 'gu');
const ideographs = new RegExp(`[${IDEOGRAPHS}]`, 'gu');

const withoutAccents = (text: string): string => text.normalize('NFD').replace(/\p{Mn}+/gu, '');

/**
 * The normaliser of BERT's tokenizer. Accents are removed where text is lowercased, unless the file sets strip_accents.
 */
export function bertNormalizer(fields: Fields): (text: string) => string {
  const lowercase = fields.boolean('lowercase', true);
  const steps: [boolean, (text: string) => string][] = [
    [fields.boolean('clean_text', true), (text) => text.replace(removed, '').replace(spaces, ' ')],
    [fields.boolean('handle_chinese_chars', true), (text) => text.replace(ideographs, ' $& ')],
    [fields.boolean('strip_accents', lowercase), withoutAccents],
    [lowercase, lowerCase],
  ];
  const wanted = steps.flatMap(([isWanted, step]) => (isWanted ? [step] : []));
  return (text) => wanted.reduce((normal, step) => step(normal), text);
}
