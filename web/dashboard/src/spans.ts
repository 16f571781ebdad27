/** How long something is valid, in seconds, where one of a few lengths is chosen. */
export const SPANS = { hour: 3600, day: 86_400, week: 604_800 } as const
export type Span = keyof typeof SPANS

export const EACH_SPAN = Object.keys(SPANS) as readonly Span[]
