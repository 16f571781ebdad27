import { covers } from '../streamName.ts'
import { fail, pass, type Question, type Verdict } from './verdict.ts'

const PASS = pass('streamName', 'the token covers the stream name')
const NOT_COVERED = fail('streamName', 'stream_name_not_allowed', 'none of the streams of the token has this name')
const OTHER_NAME = fail('streamName', 'stream_name_not_allowed', 'the self-signed token names another stream')

/** The parent must cover the name, and a self-signed token must name exactly this stream. */
export function checkStreamNameRule({ request, token, claims }: Question): Verdict {
  if (claims !== null && claims.streamName !== request.streamName) return OTHER_NAME
  return covers(token.streams, request.streamName) ? PASS : NOT_COVERED
}
