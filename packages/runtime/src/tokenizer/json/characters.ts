// Classes of characters as Rust and Hugging Face's tokenizers define them, for regular expressions with the flag u.

/** Rust's `char::is_whitespace`. JavaScript's \s has U+FEFF in addition and lacks U+0085. */
export const WHITESPACE = '\\p{White_Space}';
/** \w of Rust's regular expressions. */
export const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
/** Punctuation, including every ASCII character that is no letter, digit or space. */
export const PUNCTUATION = '\\p{P}$+<=>^`|~';
/**
 * Characters that BERT's tokenizer treats as words: the CJK blocks. U+2B820 to U+2B91F are missing in the lists of
 * Hugging Face and llama.cpp.
 */
export const IDEOGRAPHS =
  '\\u{3400}-\\u{4DBF}\\u{4E00}-\\u{9FFF}\\u{F900}-\\u{FAFF}\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2B81F}\\u{2B920}-\\u{2CEAF}\\u{2F800}-\\u{2FA1F}';

/** Lower case without context: Σ becomes σ also at the end of a word. */
export const lowerCase = (text: string): string => text.replaceAll('Σ', 'σ').toLowerCase();
