"""AMQP 0-9-1, strict and complete, derived from one declaration (`codec.wire`)."""

from codec import methods
from codec.contents import Content
from codec.errors import MalformedFrame, ReplyCode, Unencodable
from codec.frames import FRAME_MAX, ContentReader, Frame, FrameReader, content, decode, decode_many
from codec.kinds import Body, Header, Heartbeat, Method, ProtocolHeader, header

__all__ = [
    "FRAME_MAX",
    "Body",
    "Content",
    "ContentReader",
    "Frame",
    "FrameReader",
    "Header",
    "Heartbeat",
    "MalformedFrame",
    "Method",
    "ProtocolHeader",
    "ReplyCode",
    "Unencodable",
    "content",
    "decode",
    "decode_many",
    "header",
    "methods",
]
