// Classes of characters as Rust and Hugging Face's tokenizers define them, for regular expressions with the flag u.

/** `char::is_whitespace`: JavaScript's \s has U+FEFF and lacks U+0085. */
export const WHITESPACE = '\\p{White_Space}';
/** \w of Rust's regular expressions. */
export const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
/** Punctuation, with every ASCII character that is neither letter, digit nor space. */
export const PUNCTUATION = '\\p{P}$+<=>^`|~';
/**
 * Characters that are words for BERT's tokenizer: the CJK blocks. U+2B820 to U+2B91F are missing in Hugging Face's
 * list, and so in llama.cpp's.
 */
export const IDEOGRAPHS =
  '\\u{3400}-\\u{4DBF}\\u{4E00}-\\u{9FFF}\\u{F900}-\\u{FAFF}\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2B81F}\\u{2B920}-\\u{2CEAF}\\u{2F800}-\\u{2FA1F}';

/** Character by character: a sigma is the same at the end of a word as within it. */
export const lowerCase = (text: string): string => text.replaceAll('Σ', 'σ').toLowerCase();
