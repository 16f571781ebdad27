import type { Said } from '../core/notices.ts'

/** What a column of text keeps of a sentence: its text, and the same as data. */
export const saidColumn = ({ message, sentences }: Said): string => JSON.stringify({ message, sentences })

export const saidFrom = (json: string | null): Said | null => (json === null ? null : (JSON.parse(json) as Said))
