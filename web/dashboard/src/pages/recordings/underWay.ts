import { useEvery } from '../../follow.ts'

const LOOK_MS = 3000

interface Listed {
  readonly state: string
}

const isUnderWay = ({ state }: Listed): boolean => state === 'recording' || state === 'processing'

/** Loads a list again every few seconds while one of its recordings is under way, because its end has no event. */
export const useUnderWay = (recordings: readonly Listed[] | undefined, reload: () => void): void =>
  useEvery(recordings?.some(isUnderWay) ? LOOK_MS : null, reload)
