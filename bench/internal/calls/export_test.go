package main

var Convert = convert
