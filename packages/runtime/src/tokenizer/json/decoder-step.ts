/** A step from tokens to text: takes one token at a time, returns the text that is final. */
export interface DecoderStep {
  push(token: string): readonly string[];
  /** End of the tokens: returns the rest of the text. */
  end(): readonly string[];
}

/** A step that looks at each token alone. */
export const eachToken = (change: (token: string) => string): DecoderStep => ({
  push: (token) => [change(token)],
  end: () => [],
});

/** All output of the step as one token, at the end. */
export function fused(step: DecoderStep): DecoderStep {
  let text = '';
  return {
    push(token) {
      text += step.push(token).join('');
      return [];
    },
    end: () => [text + step.end().join('')],
  };
}

/** Steps one after the other. */
export function inOrder(steps: readonly DecoderStep[]): DecoderStep {
  const through = (tokens: readonly string[], first: number): readonly string[] => {
    let texts = tokens;
    for (let i = first; i < steps.length && texts.length > 0; i++) {
      const step = steps[i]!;
      texts = texts.length === 1 ? step.push(texts[0]!) : texts.flatMap((text) => step.push(text));
    }
    return texts;
  };
  return {
    push: (token) => through([token], 0),
    end: () => steps.flatMap((step, i) => [...through(step.end(), i + 1)]),
  };
}
