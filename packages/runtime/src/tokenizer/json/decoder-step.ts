/** A step from tokens to text: takes one token, returns the text that is final. */
export interface DecoderStep {
  push(token: string): readonly string[];
  /** Ends the tokens; returns the remaining text. */
  end(): readonly string[];
}

/** A step that treats each token separately. */
export const eachToken = (change: (token: string) => string): DecoderStep => ({
  push: (token) => [change(token)],
  end: () => [],
});

/** Joins all output of the step to one token, at the end. */
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

/** Runs steps one after the other. */
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
