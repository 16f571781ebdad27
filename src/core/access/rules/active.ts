import { fail, pass, type Question, type Verdict } from './verdict.ts'

const PASS = pass('active', 'the token is active')
const FAIL = fail('active', 'token_disabled', 'the token is disabled')

export const checkActive = ({ token }: Question): Verdict => (token.isActive ? PASS : FAIL)
