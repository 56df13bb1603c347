/** Nest's own messages through our logger: warnings and errors as such, its start-up chatter at debug. */
import type { LoggerService } from '@nestjs/common';
import type { Logger } from '../telemetry/logger.js';

export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown): void {
    this.logger.debug(text(message));
  }
  debug(message: unknown): void {
    this.logger.debug(text(message));
  }
  verbose(message: unknown): void {
    this.logger.debug(text(message));
  }
  warn(message: unknown): void {
    this.logger.warn(text(message));
  }
  error(message: unknown): void {
    this.logger.error({ err: message }, message instanceof Error ? message.message : text(message));
  }
}

const text = (message: unknown): string => (typeof message === 'string' ? message : JSON.stringify(message));
