import type { Model, TokenLogprob, TokenLogprobs } from '@quern/runtime';

const decoder = new TextDecoder();

/** One token with its log-probability, as chat completions write it. */
function entry(model: Model, { token, logprob }: TokenLogprob) {
  const bytes = model.tokenizer!.tokenBytes(token);
  return { token: decoder.decode(bytes), logprob, bytes: [...bytes] };
}

/** `logprobs` of a text of responses. */
export const textPartLogprobs = (model: Model, logprobs: readonly TokenLogprobs[]) =>
  logprobs.map((each) => ({
    ...entry(model, each),
    top_logprobs: each.top.map((other) => entry(model, other)),
  }));

/** `logprobs` of a choice of chat completions. */
export const chatLogprobs = (model: Model, logprobs: readonly TokenLogprobs[] | undefined) =>
  logprobs && {
    content: textPartLogprobs(model, logprobs),
    refusal: null,
  };

/** `logprobs` of a choice of completions. `offset`: characters of the text before. */
export function textLogprobs(model: Model, logprobs: readonly TokenLogprobs[] | undefined, offset: number) {
  if (!logprobs) return null;
  const tokens = logprobs.map((each) => entry(model, each).token);
  let at = offset;
  return {
    tokens,
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    top_logprobs: logprobs.map(({ top }) =>
      Object.fromEntries(top.map((each) => [entry(model, each).token, each.logprob])),
    ),
    text_offset: tokens.map((text) => {
      at += text.length;
      return at - text.length;
    }),
  };
}

/** `completion_probabilities` of llama.cpp's server. */
export const nativeLogprobs = (model: Model, logprobs: readonly TokenLogprobs[]) =>
  logprobs.map((each) => ({
    id: each.token,
    ...entry(model, each),
    top_logprobs: each.top.map((other) => ({ id: other.token, ...entry(model, other) })),
  }));
