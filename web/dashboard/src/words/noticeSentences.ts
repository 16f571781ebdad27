import type { Answer, readAttention, readStreamHealth } from '#api/tokens.ts'
import { isolated } from './complete.ts'
import { shownDate, words } from './words.ts'

/** A sentence of the server as data. */
export type NoticeSentence = Answer<typeof readAttention>[number]['sentences'][number]
type FindingCode = Answer<typeof readStreamHealth>['feeds'][number]['findings'][number]['code']

type SayText = (text: string) => string

/**
 * Says sentences in the words of `table`, by code, and texts of other parts of the server by `sayText`. Undefined: it lacks one,
 * which a newer server has. English pages need none of it, so that this file is loaded with those of other languages alone.
 */
export function sayIn(
  table: Readonly<Record<string, string>>,
  sentences: readonly NoticeSentence[],
  sayText: SayText = (text) => text,
): string | undefined {
  const said = sentences.map((sentence) => sentenceIn(table, sentence, sayText))
  return said.reduce((all, next) => (all === undefined || next === undefined ? undefined : joined(all, next)), '')
}

function sentenceIn(
  table: Readonly<Record<string, string>>,
  { code, values }: NoticeSentence,
  sayText: SayText,
): string | undefined {
  if (code === 'finding') return findingSentence(values)
  const shown = { ...values, text: refusalText(values, sayText) }
  return table[code]?.replaceAll(/\{(\w+)\}/g, (_all, name: string) => shownAs(name, shown[name as 'text'] ?? ''))
}

/** The reason for a refusal that has a code; else what the text says. */
const refusalText = ({ refusal = '', text = '' }: NoticeSentence['values'], sayText: SayText): string | number =>
  words.access.codes[String(refusal)] ?? (typeof text === 'string' ? sayText(text) : text)

const shownAs = (name: string, value: string | number): string => {
  if (name === 'date') return shownDate(String(value))
  return typeof value === 'number' ? value.toLocaleString(words.locale) : isolated(value)
}

/** A colon or a full stop at the end leads on by itself. */
function joined(text: string, next: string): string {
  if (text === '') return next
  return /[.:]$/.test(text) ? `${text} ${next}` : `${text}. ${next}`
}

function findingSentence({ finding, shown, of, text }: NoticeSentence['values']): string {
  if (typeof finding !== 'string' || !Object.hasOwn(words.stream.media.findings, finding)) return String(text)
  const said = sourceFinding(finding as FindingCode, String(shown), of)
  return `${said.text} ${said.advice}`
}

/** What is wrong with a source, and what to set. @param of the frame rate or the profile that its video says */
export function sourceFinding(
  code: FindingCode,
  shown: string,
  of: string | number | undefined,
): { readonly text: string; readonly advice: string } {
  const said = words.stream.media.findings[code]
  return { text: said.text(localized(shown), String(of ?? '')), advice: said.advice }
}

const localized = (shown: string): string => shown.replace('.', (1.5).toLocaleString(words.locale).slice(1, 2))
