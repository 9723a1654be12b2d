/** A step from tokens to text: takes tokens one by one, and gives what of them is sure. */
export interface DecoderStep {
  push(token: string): readonly string[];
  /** The tokens are at an end: what was held back. */
  end(): readonly string[];
}

/** A step that looks at each token alone. */
export const eachToken = (change: (token: string) => string): DecoderStep => ({
  push: (token) => [change(token)],
  end: () => [],
});

/** One token at the end, of all that the step gives. */
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
