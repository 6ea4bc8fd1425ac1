"""Folders on other machines: in object stores and in HDFS."""
