import type { AbrLadder } from '#api/channels.ts'
import { words } from '../../words/words.ts'

const text = words.ladder

/** A name between U+2068 and U+2069, so that its direction of writing does not reach the sentence around it (UAX #9). */
export const isolate = (name: string): string => `\u2068${name}\u2069`

/** What viewers get of a ladder, in one line: its renditions, which of them is copied, and whether there is audio alone. */
export function variantsOf({ video, audioOnly }: Pick<AbrLadder, 'video' | 'audioOnly'>): string {
  const renditions = video.map(({ label, copy }) => (copy ? text.copied(isolate(label)) : isolate(label)))
  return [...renditions, ...(audioOnly ? [text.audioOnly] : [])].join(', ')
}
